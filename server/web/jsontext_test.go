package web

import (
	"bytes"
	"encoding/json"
	"testing"
)

func FuzzJSONString(f *testing.F) {
	for _, s := range []string{"", "plain", `"\/`, "\b\f\n\r\t\x00\x1f\x7f", "<&>", "\u2028\u2029 \u202a", "é你😀", "\xff\xc3", "a\xe2\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, _ := json.Marshal(s)
		if got := appendJSONString([]byte("x"), s); !bytes.Equal(got[1:], want) {
			t.Fatalf("%q: %s, encoding/json says %s", s, got[1:], want)
		}
	})
}

func TestJSONStringOfEveryByteAndRune(t *testing.T) {
	check := func(s string) {
		want, _ := json.Marshal(s)
		if got := appendJSONString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("%q: %s, encoding/json says %s", s, got, want)
		}
	}
	for i := range 256 {
		check("a" + string([]byte{byte(i)}) + "b")
	}
	for r := rune(0); r < 0x3000; r++ {
		check(string(r))
	}
}
