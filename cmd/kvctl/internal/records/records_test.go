package records

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenure/api"
)

// consulExport is what consul kv export prints: encoding/json's indentation with tabs.
const consulExport = `[
	{
		"key": "a/\u003cb\u003e",
		"flags": 18446744073709551615,
		"value": "AP8="
	},
	{
		"key": "dir/",
		"flags": 0,
		"value": ""
	}
]
`

var all = []Record{
	{Key: "a/<b>", Value: []byte{0, 0xff}, Flags: 1<<64 - 1},
	{Key: "dir/", Value: []byte{}},
}

func readAll(t *testing.T, text string, format Format) (out []Record, err error) {
	t.Helper()
	r, err := NewReader(iotest.OneByteReader(strings.NewReader(text)), format)
	if err != nil {
		return nil, err
	}
	for {
		e, err := r.Next()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
}

func write(t *testing.T, format Format, text bool, list ...Record) string {
	t.Helper()
	var b bytes.Buffer
	w := NewWriter(&b, format, text)
	for i := range list {
		if err := w.Write(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTheFormatsAreWhatTheDocumentsSay(t *testing.T) {
	if got := write(t, Consul, false, all...); got != consulExport {
		t.Errorf("%s", cmp.Diff(consulExport, got))
	}
	if got := write(t, Consul, false); got != "[]\n" {
		t.Errorf("%q", got)
	}
	list := []Record{{Key: "a", Value: []byte("10"), Flags: 7, TTL: 30 * time.Second}, {Key: "b<", Value: []byte{0xff}}}
	for text, want := range map[bool]string{
		false: `{"key":"a","value":"MTA=","flags":7,"ttl":"30s"}` + "\n" + `{"key":"b<","value":"/w=="}` + "\n",
		true:  `{"key":"a","text":"10","flags":7,"ttl":"30s"}` + "\n" + `{"key":"b<","value":"/w=="}` + "\n",
	} {
		got := write(t, NDJSON, text, list...)
		if got != want {
			t.Errorf("text %v: %s", text, cmp.Diff(want, got))
		}
		if back, err := readAll(t, got, Auto); err != nil || !cmp.Equal(back, list) {
			t.Errorf("%+v, %v", back, err)
		}
	}
}

func TestWhatIsReadIsWhatWasWritten(t *testing.T) {
	for _, format := range []Format{NDJSON, Consul} {
		got, err := readAll(t, write(t, format, false, all...), Auto)
		if err != nil || !cmp.Equal(got, all) {
			t.Errorf("%s: %+v, %v", format, got, err)
		}
	}
	for _, text := range []string{"", " \n", "[]", "\ufeff[ ]\n", "\n\n"} {
		if got, err := readAll(t, text, Auto); err != nil || len(got) != 0 {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	// The answer of GET /v1/kv/?recurse, and older exports.
	got, err := readAll(t, `[{"LockIndex":0,"Key":"k","Flags":3,"Value":null,"CreateIndex":2,"ModifyIndex":2}]`, Auto)
	if err != nil || len(got) != 1 || got[0].Key != "k" || got[0].Flags != 3 || len(got[0].Value) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestBadInputSaysWhereAndWhy(t *testing.T) {
	long := strings.Repeat("k", api.MaxKeyBytes+1)
	for text, want := range map[string]string{
		"hello":            "neither with {",
		"\xff\xfe{\x00":    "it is UTF-16",
		"{\x00\"\x00k\x00": "it is UTF-16",
		"\x00[\x00{\x00":   "it is UTF-16",
		`{"key":"a","value":"MQ=="}` + "\n" + `{"key":"b"}`:    "line 2: key \"b\" has neither",
		`{"key":"a","value":"!"}`:                              "line 1: illegal base64",
		`{"key":"a","value":"","text":""}`:                     "both",
		`{"key":"a","text":"","note":1}`:                       "unknown field",
		`{"key":"a","text":""} {}`:                             "something follows",
		`{"key":"","text":""}`:                                 "the key is empty",
		`{"key":"` + long + `","text":""}`:                     "at most 1024",
		`{"key":"a","text":"","ttl":"soon"}`:                   "write a time like 30s",
		`{"key":"a","text":"","ttl":"1ms"}`:                    "at least 100ms",
		`{"key":"a","text":"","flags":-1}`:                     "cannot unmarshal",
		"{\"key\":\"a\",\"text\":\"\xff\"}":                    "not UTF-8",
		`[{"key":"a","value":"MQ=="},{"key":"b","value":"%"}]`: "element 2, at about byte",
		`[{"key":"a","value":"MQ=="}`:                          "unexpected EOF",
		`[{"key":"a","value":"MQ=="}] x`:                       "something follows the array",
		`[{"key":"a","value":"MQ==","namespace":"team"}]`:      "namespace or partition \"team\"",
		`[1]`: "element 1",
		"{\"key\":\"a\",\"text\":\"" + strings.Repeat("x", 3e7):   "no record has",
		"[{\"key\":\"a\",\"value\":\"" + strings.Repeat("x", 3e7): "an element has more than",
	} {
		r, err := NewReader(strings.NewReader(text), Auto)
		for err == nil {
			_, err = r.Next()
		}
		if err == io.EOF || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

// TestAnArrayIsReadElementByElement reads an array that never was in memory.
func TestAnArrayIsReadElementByElement(t *testing.T) {
	const n = 200
	element := []byte(`{"key":"k","flags":0,"value":"` + strings.Repeat("QUFB", 100_000) + `"},`)
	parts := []io.Reader{strings.NewReader("[")}
	for range n {
		parts = append(parts, bytes.NewReader(element))
	}
	parts = append(parts, strings.NewReader(`{"key":"z","value":""}]`))
	r, err := NewReader(io.MultiReader(parts...), Auto)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; ; i++ {
		if _, err := r.Next(); err == io.EOF && i == n+1 {
			return
		} else if err != nil {
			t.Fatal(i, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(consulExport)
	f.Add(`{"key":"a","value":"MTA=","flags":7,"ttl":"30s"}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readAll(t, text, Auto)
		if err != nil {
			return
		}
		again, err := readAll(t, write(t, NDJSON, true, slices.Clone(got)...), NDJSON)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(again) {
			t.Errorf("%+v became %+v, %v", got, again, err)
		}
	})
}
