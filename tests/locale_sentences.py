"""Ten sentences of our own for each locale, for the tests of tokens, keys and the page."""

SENTENCES = {
    "en": """we walk to the market on sunday
don't forget your blue umbrella
i think i'm late again
the well-known singer lives here
my sister's cat sleeps all day
can you bring some bread
it was a quiet evening
they'll call us after lunch
the train stops at every village
i've lost my left shoe""",
    "pt": """a avó fez pão de manhã
não consigo achar a chave
você vem à festa amanhã
o coração bate depressa
já são cinco horas
põe a água no copo
eles têm três irmãos
guarda-chuva é bom na chuva
a maçã está na mesa
até logo meu amigo""",
    "de": """die straße ist heute naß und grün
wir möchten über die brücke gehen
der bär schläft im wald
ich weiß nicht wo er wohnt
schöne grüße aus köln
das mädchen trägt einen großen hut
früher war alles anders
er hört gern laute musik
die tür fällt leise zu
heute essen wir süße äpfel""",
    "fr": """l'eau du lac est très froide
j'aime le café d'ici
aujourd'hui il fait déjà chaud
où est la clé de l'école
nous avons mangé une crêpe
c'est peut-être un rêve
ma sœur dort à noël
le garçon lit qu'elle arrive
les forêts sont brûlées
il s'est levé tôt""",
    "es": """la niña come piña en españa
mañana vamos a la montaña
el corazón late rápido
mi hermano está en la cocina
el pingüino nada muy bien
después bebemos un té
la canción es muy bonita
el avión sale a las ocho
quiero más pan y jamón
el médico vive aquí""",
    "it": """l'acqua del mare è calda
un'amica viene domani
perché non mangi più
la città dorme ancora
ho bevuto un buon caffè
dell'erba cresce lì
giovedì andiamo al lago
così va molto meglio
lunedì c'era il sole
la virtù è rara""",
    "pl": """żółta łódź płynie po jeziorze
ślimak je świeżą sałatę
idę z mamą do sklepu
dzień był ciepły i długi
gdzie są moje klucze
mój brat śpi jeszcze
ćma leci w stronę światła
pies goni małą mysz
proszę o trochę mąki
koń stoi przy płocie""",
    "sv": """den gröna båten ligger i ån
vi åker till sjön på lördag
hon äter ett rött äpple
i natt föll det snö
kan du öppna fönstret åt mig
pojken springer över ängen
jag är trött i dag
mjölken står på bordet
lärdomen är dyr
vår bil är blå""",
    "tr": """ışık odada yavaşça söndü
istanbul'da hava çok güzel
kırmızı ağaç büyüdü
iyi bir gün geçirdik
çocuk bahçede koşuyor
şimdi eve gidiyorum
kâğıt masanın altında
su çok soğuk değil
dün akşam yağmur yağdı
ılık süt içmek istiyor""",
    "ru": """ёжик бежит через лес
мама варит вкусный суп
подъезд закрыт на ключ
мы едем в город завтра
щенок грызёт старый мяч
это моё любимое место
дети играют во дворе
хорошо что ты пришёл
фонарь светит у дома
юля пьёт чай с мёдом""",
    "hi": """मेरा घर नदी के पास है
आज मौसम बहुत अच्छा है
वह किताब पढ़ रही है
हम कल बाज़ार जाएँगे
बच्चे मैदान में खेलते हैं
मुझे ठंडा पानी चाहिए
चाँद आसमान में चमकता है
माँ ने खाना बनाया
यह फूल लाल और सुंदर है
क्या तुम मेरे साथ चलोगे""",
    "th": """วันนี้อากาศดีมาก
ฉันชอบกินข้าวผัด
เราจะไปตลาดด้วยกัน
แม่ทำอาหารอร่อย
น้องนอนหลับแล้ว
พรุ่งนี้ฝนจะตก
หมาวิ่งในสวน
เขาอ่านหนังสือที่บ้าน
ครูสอนภาษาไทย
ผมซื้อผลไม้สด""",
    "zh": """今天天气很好
我们一起去公园
妈妈在家里做饭
他喜欢看书
明天可能下雨
弟弟跑得很快
老师教我们唱歌
我想喝一杯茶
火车晚上八点到
花园里有很多花""",
}


def sentences(code: str) -> list[str]:
    return SENTENCES[code].split("\n")
