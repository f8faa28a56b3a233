package web

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"tenure/api"
	"tenure/server/service"
)

// What was not applied says so once, and keeps the code of its reason.
func TestNotAppliedIsSaidOnce(t *testing.T) {
	for _, x := range []struct {
		err  error
		want string
		code api.Code
	}{
		{fmt.Errorf("%w: no master is known", service.ErrNotApplied), "not applied: why: no master is known", api.CodeNotApplied},
		{fmt.Errorf("%w: later", service.ErrOverloaded), "not applied: why: overloaded: later", api.CodeOverloaded},
		{errors.New("a disk"), "not applied: why: a disk", api.CodeNotApplied},
	} {
		err := service.NotApplied("why", x.err)
		if status, code := codeOf(err); err.Error() != x.want || code != x.code || status != http.StatusServiceUnavailable {
			t.Errorf("%q, %s %d; want %q, %s", err, code, status, x.want, x.code)
		}
	}
}
