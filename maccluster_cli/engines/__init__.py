"""How each framework wants its ranks started. A new engine is one module and one line here."""
