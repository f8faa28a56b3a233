acl = "write"
key "consul-snapshot/lock" {
  policy = "write"
}
session_prefix "server-" {
  policy = "write"
}
service "consul-snapshot" {
  policy = "write"
}
