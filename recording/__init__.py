"""The bundled recording, and the code that made it from list prices collected in public."""
