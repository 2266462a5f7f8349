"""What pages and lists read: each function says how many queries it makes."""
