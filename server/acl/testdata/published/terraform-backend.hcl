// state of Terraform, and its lock
key_prefix "terraform/state" { policy = "write" }
session_prefix "" { policy = "write" }
