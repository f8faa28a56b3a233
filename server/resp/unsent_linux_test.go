package resp

import (
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tenure/kv"
	"tenure/server/service"
)

// counting is a fake that counts the values that are read.
type counting struct {
	*fake
	values atomic.Int64
}

func (c *counting) GetMany(d time.Duration, m service.Mode, keys []string, each func(int, kv.Entry) bool) (uint64, error) {
	return c.fake.GetMany(d, m, keys, func(i int, e kv.Entry) bool {
		c.values.Add(1)
		return each(i, e)
	})
}

// A client that asks again and again and reads nothing has few replies made for it: the system buffers little of them.
func TestLittleLiesUnsent(t *testing.T) {
	f := &counting{fake: newFake(t)}
	f.apply(t, kv.Command{Op: kv.OpSet, Key: "big", Value: []byte(strings.Repeat("v", 256<<10))})
	s := dial(t, start(t, f, Config{}))
	if err := s.Conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil { // which bounds what is on its way
		t.Fatal(err)
	}
	s.send(strings.TrimSuffix(strings.Repeat("GET big\r\n", 400), "\r\n"))
	for before := int64(-1); before != f.values.Load(); time.Sleep(300 * time.Millisecond) {
		before = f.values.Load()
	}
	if n := f.values.Load(); n == 0 || n > 8 {
		t.Errorf("%d values of 256 KiB were read for a client that reads none", n)
	}
}
