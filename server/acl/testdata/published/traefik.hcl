key_prefix "traefik" {
  policy = "write"
}
session "" {
  policy = "write"
}
service_prefix "" {
  policy = "read"
  intentions = "read"
}
