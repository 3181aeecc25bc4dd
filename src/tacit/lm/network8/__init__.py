"""Networks with 8 bits per weight that need numpy only: the file (`reader`, `writer`), the recurrence (`forward`), and
the `Model` (`model`)."""
