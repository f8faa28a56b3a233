package utf8text

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"unicode/utf16"
)

// utf16Text returns text in UTF-16.
func utf16Text(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestOf(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "{\"key\"": "{\"key\"", "\ufeff": "", "\ufeffkey = 1": "key = 1", "\ufeff\ufeffa": "\ufeffa",
		"ä": "ä", "a\x00b": "a\x00b", "\x00\x00\x00\x00": "\x00\x00\x00\x00", // no text at all: for others to refuse
	} {
		if got, err := Of([]byte(text)); err != nil || string(got) != want {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
	for text, iconv := range map[string]string{
		utf16Text(binary.LittleEndian, "\ufeff{"): "-f UTF-16 ", utf16Text(binary.BigEndian, "\ufeff[1]"): "-f UTF-16 ",
		utf16Text(binary.LittleEndian, "\ufeff"): "-f UTF-16 ", utf16Text(binary.LittleEndian, "{}"): "-f UTF-16LE ",
		utf16Text(binary.BigEndian, "id = 1"): "-f UTF-16BE ",
	} {
		got, err := Of([]byte(text))
		if !errors.Is(err, ErrUTF16) || got != nil || !strings.Contains(err.Error(), iconv) {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
}
