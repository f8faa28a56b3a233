package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"tenure/server/service"
)

// jsonSpace is what JSON adds to the values in a body: names, numbers, and keys with every byte escaped.
const jsonSpace = 16 << 10

// base64Bytes bounds what n bytes take as base64.
func base64Bytes(n int) int { return (n+2)/3*4 + 2 }

// readJSON decodes the body into v, which stays as it is without one. Members that v does not have are refused: what is
// misspelt must not be ignored. The names of members have no case, as in Consul.
func (b *bodies) readJSON(x *exchange, limit int, v any) error {
	p := bodyBuffers.Get().(*[]byte)
	defer putBody(p)
	body, err := b.readText(x, p, limit)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err = d.Decode(v); err == io.EOF {
		return nil
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	return undecoded(err, v)
}

// errNoText refuses what encoding/json would decode as another text: two keys would become one.
var errNoText = service.Invalid("Request decode failed: the body is not UTF-8, or has half of a surrogate pair such as " +
	`\ud83d: nothing was changed`)

// readText is read for a body of JSON.
func (b *bodies) readText(x *exchange, p *[]byte, limit int) ([]byte, error) {
	body, err := b.read(x, p, limit)
	if err == nil && !isText(body) {
		err = errNoText
	}
	return body, err
}

// isText reports whether no byte and no escape of a body would be decoded as U+FFFD in its place.
func isText(body []byte) bool {
	if !utf8.Valid(body) {
		return false
	}
	for {
		i := bytes.IndexByte(body, '\\')
		if i < 0 {
			return true
		}
		body = body[i:]
		first := escaped(body)
		if !utf16.IsSurrogate(first) {
			body = body[min(2, len(body)):] // what \u is followed by has no backslash, or is no JSON
			continue
		}
		const size = len(`\ud83d`)
		if utf16.DecodeRune(first, escaped(body[size:])) == utf8.RuneError {
			return false
		}
		body = body[2*size:]
	}
}

// escaped returns the number of an escape such as \u00e9 at the beginning of b; -1: there is none.
func escaped(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// undecoded returns the refusal of a body that could not be decoded into v, nil without an error.
func undecoded(err error, v any) error {
	if err == nil {
		return nil
	}
	return service.Invalid("Request decode failed: %v: nothing was changed", named(err, v))
}

// readJSONList is readJSON of a list of at most most elements: with another one it returns tooMany. It decodes element by
// element, since a short text can be that of very many.
func readJSONList[T any](b *bodies, x *exchange, limit, most int, tooMany error, list *[]T) error {
	p := bodyBuffers.Get().(*[]byte)
	defer putBody(p)
	body, err := b.readText(x, p, limit)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	begin, err := d.Token()
	switch {
	case err == io.EOF:
		return nil
	case err != nil:
		return undecoded(err, list)
	case begin != json.Delim('['):
		return service.Invalid("Request decode failed: the body must be a list, not %s: nothing was changed",
			tokenKind(begin))
	}
	for d.More() {
		if len(*list) == most {
			return tooMany
		}
		var one T
		if err := d.Decode(&one); err != nil {
			return undecoded(err, list)
		}
		*list = append(*list, one)
	}
	if _, err = d.Token(); err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("more than one JSON value")
		}
	}
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return undecoded(err, list)
}

// tokenKind says what begins with a token that begins no list.
func tokenKind(t json.Token) string {
	switch t.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case float64:
		return "number"
	case string:
		return "string"
	}
	return "object"
}

// named improves the error of a decoder for v. For an unknown member it suggests the member that was probably meant,
// and for a member of the wrong type it names the right type. It returns other errors unchanged.
func named(err error, v any) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		what, is := "the body", wrong.Value
		if wrong.Field != "" {
			what = "member " + strconv.Quote(wrong.Field)
		}
		if is == "bool" {
			is = "true or false"
		}
		return fmt.Errorf("%s must be %s, not %.40s", what, inJSON(wrong.Type), is)
	}
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !ok {
		return err
	}
	name, bad := strconv.Unquote(quoted)
	if bad != nil {
		return err
	}
	members := membersOf(reflect.TypeOf(v), nil)
	return fmt.Errorf("unknown member %.80q%s: members are %s", name, meant(name, members, `"`),
		strings.Join(members, ", "))
}

// inJSON says what t is in JSON.
func inJSON(t reflect.Type) string {
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		return inJSON(t.Elem())
	case k == reflect.String:
		return "a string"
	case k == reflect.Bool:
		return "true or false"
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case k >= reflect.Int && k <= reflect.Int64:
		return fmt.Sprintf("a whole number from -%d to %d", uint64(1)<<(t.Bits()-1), uint64(1)<<(t.Bits()-1)-1)
	case k == reflect.Float64:
		return "a number"
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "a string of base64"
	case k == reflect.Slice:
		return "a list"
	}
	return "an object"
}

// membersOf appends the names of the members of t, and of the structures in it that are ours.
func membersOf(t reflect.Type, list []string) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return list
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" { // its members are those of t
			list = membersOf(f.Type, list)
			continue
		}
		name = cmp.Or(name, f.Name)
		list = membersOf(f.Type, append(list, name))
	}
	return list
}

// atDefault refuses a member that would change the meaning of a request if it were ignored.
func atDefault(member, value string, usual ...string) error {
	if value == "" || slices.Contains(usual, value) {
		return nil
	}
	return service.Invalid("%s %.80q: is not taken here, only its default: leave it out: nothing was changed",
		member, value)
}
