acl = "read"
agent_prefix "" { policy = "read" }
event_prefix "" { policy = "read" }
key_prefix "" { policy = "read" }
keyring = "read"
node_prefix "" { policy = "read" }
operator = "read"
mesh = "read"
peering = "read"
query_prefix "" { policy = "read" }
service_prefix "" { policy = "read" intentions = "read" }
session_prefix "" { policy = "read" }
