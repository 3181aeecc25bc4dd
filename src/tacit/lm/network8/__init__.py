"""Networks with 8 bits a weight, run by numpy alone: the file (`reader`, `writer`), the recurrence (`forward`), and the
model that can be asked (`model`)."""
