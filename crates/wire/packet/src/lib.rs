//! Checked views and builders of Ethernet, IP, UDP, TCP, ICMP and GTP-U packets.
