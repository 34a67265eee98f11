"""How a server learns between turns: reviews of conversations, a curator of skills, their times."""
