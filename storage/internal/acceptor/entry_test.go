package acceptor

import "testing"

func FuzzOpenEntry(f *testing.F) {
	e := entry(7, 3, "value")
	f.Add(slotKey(7), sealEntry(nil, slotKey(7), &e))
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, key, record []byte) {
		e, err := OpenEntry(key, record)
		if err != nil {
			return
		}
		if again := sealEntry(nil, slotKey(e.Slot), &e); string(again) != string(record) {
			t.Fatalf("%x decodes and encodes to %x", record, again)
		}
	})
}
