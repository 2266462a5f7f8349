"""How what is wanted becomes what is: intents, operations, scheduling, dispatch, evidence."""
