"""Finding text and files in a folder: queries in, lean text and places out. Knows no tool."""
