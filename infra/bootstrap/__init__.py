"""From a bare machine to a running product, with the standard library alone.

`./manage.py up` comes here first: system packages, the virtual environment, and one supervisor over
the private PostgreSQL and Redis, the control plane's processes and this machine's node agent.
"""
