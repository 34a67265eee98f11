"""Sources of skill installations: directory, archive, git repository. No security scan here."""
