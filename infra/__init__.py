"""The project: settings, edges (API, console, agent edge), command line and start-up.

Importing this package must work with nothing but the standard library: the start-up runs before
the dependencies are there.
"""
