"""The command ``strata``: the explorer in a shell, on this machine or through a server's API."""
