"""Numbers, clock times, prices and spans of time as people type them, most common first, separated by bars."""

NUMBERS = """
two|three|2|3|four|five|10|six|4|5|20|ten|seven|eight|12|30|15|6|50|nine|100|25|twenty|40|7|8
"""
CLOCKS = """
7|8|6|5|9|7:30|1|10|12|6:30|half 7|2|8:30|4|7pm|3|11|5:30|8pm|half 8|midday|9:30|6pm|2:30|noon|half 5|4:30
|10am|9am|midnight|3:15|11:45|1:20|5:45|10:15|7:45
"""
PRICES = """
£20|£10|£50|£5|£100|$20|$50|£15|$10|£30|$100|£40|£200|$5|£8|£25|$40|a tenner|a fiver|£500|$15|$200|$30|£12.50
"""
SPANS = """
all day|an hour|the whole day|two hours|ages|all morning|the whole weekend|three hours|half an hour
|the afternoon|20 minutes|all night|a week|months
"""
MINUTES = "5|10|15|20|two|30|five|2|ten|45|25|12"
ORDINALS = "second|third|fourth|fifth|hundredth"
AGES = "30|40|50|18|21|60|70|1|80|16|90|13|65"
