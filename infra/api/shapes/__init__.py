"""What the API shows of each noun: typed documents made from rows, and the bodies it takes."""
