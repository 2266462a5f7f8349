"""The wire between a node agent and the control plane: typed values, their codec and version.

This is the only part of the agent that the control plane may import. Everything here is a frozen
value; nothing here acts, reads a clock or touches a socket.
"""
