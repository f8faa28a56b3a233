package web

import "testing"

// Details show keys without their values, and count the keys of a name: those alone that the client may read.
func TestDetailsOfKeys(t *testing.T) {
	g := newGuarded(t)
	g.set(t, "a/1", "xyz", "a/b/1", "x", "a/b/2", "x", "a/c/1", "x")
	g.made("app", `key_prefix "a/" { policy = "read" } key "a/b/1" { policy = "deny" } key_prefix "a/c/" { policy = "deny" }`)
	const all = "/v1/kv/a/?keys&separator=/&details&limit="
	g.as(root).wants("GET", all+"9", "", 200, `"Size":3,"Flags":0,"LockIndex":0,"CreateIndex":`)
	g.wants("GET", all+"9", "", 200, `},{"Key":"a/b/","Count":2},{"Key":"a/c/","Count":1}]`)
	g.wants("GET", all+"2", "", 200, `},{"Key":"a/b/","Count":2}]`)
	g.as("app").wants("GET", all+"9", "", 200, `},{"Key":"a/b/","Count":1}]`)
	g.wants("GET", "/v1/kv/c?keys&details&limit=1", "", 403, "'key:read'")
	g.as(root).wants("GET", "/v1/kv/a/?keys&details", "", 400, "it goes with `limit`")
	g.wants("GET", "/v1/kv/a/?recurse&details&limit=1", "", 400, "it goes with `keys`")
	g.wants("GET", "/v1/kv/a/?keys&details&limit=1001", "", 400, "at most 1000")
	g.wants("GET", "/v1/kv/none/?keys&details&limit=1", "", 404, "")
}
