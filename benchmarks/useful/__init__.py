"""How useful what is shown is: the share of the texts that a reader must see, per policy and limit."""
