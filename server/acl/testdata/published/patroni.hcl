service_prefix "patroni" {
  policy = "write"
}
key_prefix "service/" {
  policy = "write"
}
session_prefix "" {
  policy = "write"
}
node_prefix "" { policy = "read" }
agent_prefix "" { policy = "read" }
