"""What would make this node match its declarations. Pure: no clock, no driver, no ledger."""
