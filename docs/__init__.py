"""The documentation: pages, figures, and what makes a site of them."""
