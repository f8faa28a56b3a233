package clienttest

import (
	"strconv"
	"strings"

	"tenure/api"
)

// fences are the largest tokens that were seen, by name. There is one floor for all that were dropped.
type fences struct {
	seen  map[string]uint64
	floor uint64
}

// check returns the refusal of a write with a smaller token than one that was seen, or nil. The token is seen then.
func (f *fences) check(fence string) *reply {
	i := strings.LastIndexByte(fence, ':')
	if i < 0 {
		return nil
	}
	name, text := fence[:i], fence[i+1:]
	token, err := strconv.ParseUint(text, 10, 64)
	if err != nil || token == 0 {
		return &reply{status: 400, code: api.CodeInvalid, body: "the fence is not NAME:TOKEN"}
	}
	if largest, _ := f.token(name); token < largest {
		return &reply{status: 409, code: api.CodeFenced, body: "fenced: a larger token was seen: nothing was changed"}
	}
	f.seen[name] = token
	return nil
}

// token returns the largest token of a name, or the floor if none is kept.
func (f *fences) token(name string) (token uint64, kept bool) {
	if token, kept = f.seen[name]; kept {
		return token, true
	}
	return f.floor, false
}

// drop forgets a name.
func (f *fences) drop(name string) {
	f.floor = max(f.floor, f.seen[name])
	delete(f.seen, name)
}

// show returns what GET of a fence answers.
func (f *fences) show(name string) api.Fence {
	token, kept := f.token(name)
	return api.Fence{Name: name, Token: token, Floor: !kept}
}
