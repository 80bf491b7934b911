"""Where bytes come from: a command, or standard input. Each source yields blocks and ends."""
