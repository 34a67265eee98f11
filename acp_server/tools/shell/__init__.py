"""Commands as local processes: started, followed, ended, and never left behind."""
