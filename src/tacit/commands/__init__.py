"""What the commands do, over run directories. Arguments are read in `cli/`, and methods live in the other rooms."""
