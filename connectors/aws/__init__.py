"""AWS Price List: bulk offer files and their wire format."""
