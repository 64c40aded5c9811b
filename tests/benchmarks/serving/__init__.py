"""The explorer's server under load: started as users start it, watched from a process of its own."""
