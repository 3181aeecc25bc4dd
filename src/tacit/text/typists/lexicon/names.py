"""Given names of many cultures, most common first, and the parts of invented names."""

FEMALE = """
Emma Sarah Maria Olivia Anna Sophie Fatima Aisha Lucy Priya Grace Chloe Laura Mei Hannah Julia Zara Elena
Amy Katie
Nina Leila Rosa Amelia Isla Ruby Ella Megan Holly Jess Beth Molly Freya Poppy Eva Mia Lily Alice Nadia
Yasmin Ines
Clara Marta Ana Lucia Carmen Sofia Camila Valentina Paula Gabriela Beatriz Mariana Renata Daniela Ximena
Pilar Luz
Chiara Giulia Francesca Bianca Paola Ilaria Amina Zainab Khadija Maryam Hafsa Noor Salma Rania Dina Layla
Huda Samira
Ngozi Chioma Adaeze Amara Funmi Temi Bisi Yetunde Wanjiru Akinyi Makena Zanele Thandi Lerato Naledi Abena
Efua Esi
Ananya Divya Kavya Meera Sunita Lakshmi Pooja Neha Anjali Deepa Shreya Riya Isha Tara Asha Padma Geeta
Rukmini
Yuki Sakura Hana Aiko Emiko Naomi Keiko Haruka Jiwoo Minji Soojin Hyejin Eunji Xin Ling Jing Yan Hui Fang
Lan Linh Thuy
Mai Ngoc Kim Sari Dewi Putri Ayu Siti Malee Ploy Olga Irina Natasha Katya Svetlana Daria Anya Ivana Jelena
Milena
Magda Kasia Agnieszka Zofia Ola Hanka Petra Lenka Ingrid Astrid Freja Saga Linnea Maja Signe Aino Helmi
Sanna Greta
Heidi Lena Annika Lotte Femke Sanne Anouk Margot Camille Manon Elodie Celine Amelie Juliette Solène Niamh
Aoife Ciara
Orla Sinead Saoirse Eilidh Mhairi Catriona Cerys Carys Seren Nia Ffion Bronwen Rachel Miriam Tamar Noa Shira
Esther
Ruth Leah Dalia Gwen Harriet Imogen Matilda Beatrice Florence Edith Winnie Mabel Doris Hilda Maureen Sheila
Brenda
Jackie Tracey Debbie Sharon Karen Linda Susan Carol Pam Gemma Kirsty Stacey Kelly Tanya Donna Michelle
Nicole Brooke
Savannah Destiny Kayla Jasmine Ebony Tiana Alana Leilani Moana Aroha Marama Sienna Willow Ivy Hazel Violet
Luna Aurora
"""

MALE = """
James Tom Mohammed Jack Dan Ben Ali Sam Adam Luke David Omar Ryan Josh Matt Harry Alex Leo Marco Raj Chris
Mike Oliver
George Max Jake Callum Liam Noah Ethan Lewis Nathan Connor Kyle Sean Declan Aaron Jamie Charlie Oscar Archie
Theo
Carlos Diego Luis Javier Miguel Pablo Mateo Santiago Andres Rafael Jorge Hugo Bruno Thiago Felipe Joao Tiago
Rui
Luca Matteo Giovanni Davide Lorenzo Paolo Enzo Ahmed Yusuf Ibrahim Hassan Hussein Khalid Tariq Bilal Karim
Samir Amir
Reza Farid Nabil Walid Ziad Hamza Emeka Chidi Obinna Tunde Segun Femi Kofi Kwame Kwasi Yaw Sipho Thabo
Mandla Bongani
Kamau Otieno Juma Baraka Arjun Vikram Rohan Rahul Sanjay Amit Anil Suresh Ravi Kiran Nikhil Varun Aditya Dev
Manoj
Imran Faisal Usman Zubair Kenji Hiroshi Takeshi Daiki Haruto Ren Sota Minho Jihoon Sungmin Donghyun Wei Jun
Hao Ming
Bo Chen Tao Lei Feng Minh Duc Tuan Huy Budi Agus Rizky Somchai Anan Ivan Dmitri Sergei Pavel Boris Mikhail
Yuri Nikola
Milan Goran Dragan Tomasz Piotr Marek Kuba Wojtek Jan Jiri Ondrej Lars Erik Sven Nils Anders Mikkel Rasmus
Jens Eino
Jussi Klaus Jürgen Stefan Felix Moritz Joost Daan Pieter Bram Antoine Julien Pierre Luc Mathieu Baptiste
Ciaran Eoin
Oisin Padraig Cormac Fergus Hamish Angus Rory Euan Rhys Gareth Dylan Owain Huw Gethin Daniel Eitan Noam Avi
Moshe
Isaac Levi Ezra Jacob Reuben Albert Stanley Ernest Walter Cyril Norman Derek Trevor Nigel Keith Barry Gary
Kevin Steve
Dave Phil Neil Craig Darren Wayne Shane Brett Bruce Tyler Austin Mason Logan Hunter Wyatt Jayden Malik
Tyrone Jerome
DeShawn Terrell Keanu Kai Koa Tane Wiremu Manu Finn Jasper Silas Miles Otis Rufus Barnaby Monty Digby
Lachlan Xavier
"""

PETS = """
Biscuit Luna Bella Milo Teddy Poppy Max Coco Oreo Pepper Ginger Rocky Daisy Marmite Pickle Shadow Waffle
Ziggy Socks
Noodle Bruno Misty Tofu Peanut Smudge Dobby Mochi Pudding Rex Bandit Whiskers Gizmo Olive Banjo Truffle
Button Scout
Nacho Mango Paddy Sooty Dumpling Fudge Bramble Pablo Widget Trixie Kiwi Duke Hobnob Maple Sprout Dexter
Snowy Tinker
Chutney Pippin Rolo Muffin Basil Cleo Hector Juno Loki Nugget Otto Pixie Quincy Ruffles Toast Velcro Winston
Yoshi Zeus
"""

# Invented proper names are a first piece and a second piece; the pieces are ours, the places do not exist.
TOWN_HEADS = """
Ash Brom Cal Dun Elm Fal Gar Hart Ingle Kel Lang Mar North Oak Pen Quar Red Stan Thorn Ul Wick Yar Black
Cold Dray
Ever Fern Glen Hazel Kirk Lin Mill Nether Over Pad Raven South Tarn Win Burn Crow Wester Long Mel Swan Har
Alder Amber Apple Arrow Barley Barrow Beck Bell Birch Blen Bol Bourn Brack Bram Bray Brier Brock Buck Bur Cald Carn
Castle Chal Cheddle Clay Clover Comber Copper Corn Cran Dar Deep Der Dove Drift East Eden Edge Elder Farn Finch Flax
Fox Frost Gold Goose Grange Green Grey Hadder Hallow Haw Heather Hern Hick Hollow Holm Honey Horn Hum Ivy Jack Kestrel
King Lamb Larch Lark Laven Leather Lime Loch Lother Low Maple Marl Mead Merrow Middle Moss Nettle New Otter Ox Peb
Pine Plum Pool Port Prim Rad Ram Reed Rook Rose Rowan Rush Sal Sand Sedge Shel Silver Slate Sorrel Spar Stone Sum
Tal Tel Thistle Tor Up Vale Wal War Wey Whit Wood Wren Yew
"""
TOWN_TAILS = (
    "ton ford ham ley by wick field mouth stead worth bury dale well combe gate bridge moor den hurst thorpe"
)
STREET_HEADS = """
High Station Church Mill Park Victoria Queen's King's Albert Chapel Orchard Market Castle Bridge School Elm
Maple Cedar
Willow Linden Chestnut Harbour Canal Abbey Rose Lavender Foundry Tanner's Weaver's Cobbler's Priory Windmill
Quarry
Meadow Hawthorn Juniper Larch Magpie Nightingale Poplar Rectory Sycamore Vicarage
"""
STREET_TAILS = "Street Road Lane Avenue Close Drive Terrace Crescent Way Gardens Hill Row"
CAFE_HEADS = """
Copper Blue Golden Little Red Green Old Silver Lucky Crooked Hungry Sleepy Velvet Brass Wild Rusty Salty
Jolly Painted
Crimson Marble Twisted Humble Secret Honest Dancing Smoky Lazy Black White
"""
CAFE_TAILS = """
Kettle Lantern Fox Spoon Table Anchor Bean Olive Lemon Dragon Plough Swan Bell Oven Fig Pepper Goose Barrel
Teapot Hare
Crown Garden Whisk Tortoise Pelican Peacock Elephant Mitten Bicycle Lobster
"""
TITLE_HEADS = """
Midnight Broken Silent Hidden Last Golden Winter Summer Paper Glass Iron Distant Burning Lost Crooked
Electric Hollow
Secret Stolen Scarlet Endless Fallen Savage Gentle Shattered Forgotten Velvet Restless Phantom Crystal
Northern Wicked
"""
TITLE_TAILS = """
Harbour River Crown Sky Garden Promise Empire Shadows Kingdom Island Heart Season Orchard Echo Station Storm
Letters
Detective Hospital Mountain Strangers Wolves Tides Mirror Frontier Lagoon Academy Galaxy Neighbours Heist
Alibi Prophecy
"""
TEAM_TAILS = (
    "United Rovers City Town Athletic Wanderers Albion Rangers Tigers Hawks Falcons Sharks Bulls Comets"
)
BAND_TAILS = """
Foxes Parade Pilots Astronauts Sisters Brothers Machine Cowboys Kites Sirens Pigeons Lanterns Giraffes
Ghosts Sailors
Radio Avenue Collective Monkeys Choir Hurricanes Poets Robots Magnets Bandits Satellites Penguins Moths
"""
COMPANY_HEADS = """
Nova Bright Alder Corvex Delphi Everly Fenwick Globo Halden Ivory Juno Kestrel Lumen Meridian Nexo Orbit
Pinnacle
Quanta Rowan Solace Tandem Umbra Vertex Westmark Xylo Yonder Zephyr Brook Cinder Dovetail
"""
COMPANY_TAILS = (
    "soft tech works Foods Logistics Bank Care Labs Motors Media Energy Homes Stores Systems Travel Group"
)
