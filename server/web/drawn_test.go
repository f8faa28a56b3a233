package web

import (
	"strings"
	"testing"

	"tenure/api"
)

// Where a node would draw what names a request, a retry under an idempotency key would be another request. So the key is
// refused, and nothing is done.
func TestAKeyIsRefusedWhereANodeDraws(t *testing.T) {
	f := newFake(t)
	s := newServer(t, f)
	for _, c := range []struct{ target, body, member string }{
		{"/v1/lease/a/acquire", `{"Owner":"o","TTL":"1s"%s}`, `"Acquisition":"mine"`},
		{"/v1/members/remove", `{"node":2%s}`, `"operation":"mine"`},
	} {
		for _, given := range []string{"", "," + c.member} {
			for _, key := range []bool{true, false} {
				var headers []string
				if key {
					headers = append(headers, api.HeaderIdempotencyKey+": w")
				}
				w := call(s, "POST", c.target, strings.Replace(c.body, "%s", given, 1), headers...)
				if refused := w.Code == 400 && strings.Contains(w.Body.String(), "which you have drawn"); refused != (key && given == "") {
					t.Errorf("%s, key %v, member %q: %d %s", c.target, key, given, w.Code, w.Body)
				}
			}
		}
	}
}
