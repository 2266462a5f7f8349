"""Which steps lead to what is wanted. Pure: no rows, no clock, no framework."""
