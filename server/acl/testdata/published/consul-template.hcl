# what templates read
key_prefix "config/" { policy = "read" }
key_prefix "consul-template/dedup/" { policy = "write" }
session_prefix "" { policy = "write" }
service_prefix "" { policy = "read" }
node_prefix "" { policy = "read" }
