"""Access to the operating system: private files, processes, descriptors, threads, shells, screens."""
