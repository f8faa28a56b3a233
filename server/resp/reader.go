package resp

import (
	"strings"
	"time"

	"tenure/server/resp/glob"
	"tenure/server/service"
)

// reader is the client as those see it who tell it of changes, from goroutines of their own. It is used with
// subscriptions.mu held. The zero reader may be told of everything.
type reader struct {
	permit service.Permit
	denied error // why the client is nobody any more
}

// newReader returns the client as it is now.
func (s *store) newReader() reader {
	r := reader{permit: s.Another()}
	_ = r.again() // may knows the error
	return r
}

// again returns nil if the client is still somebody, by what this node knows now.
func (r *reader) again() error {
	r.denied = r.permit.KnownHere()
	return r.denied
}

// may reports whether the client may see the key, by the last result of again.
func (r *reader) may(key string) bool { return r.denied == nil && r.permit.MayKey(key) }

// maySome reports whether the client may see any key that begins with prefix, by the last result of again.
func (r *reader) maySome(prefix string) bool { return r.denied == nil && r.permit.MaySomeKey(prefix) }

// news returns a channel that is closed when permissions change after the last decision, and one that receives when the
// token expires. A nil channel means never. The caller calls stop when it no longer listens.
func (r *reader) news() (changed <-chan struct{}, expires <-chan time.Time, stop func()) {
	if r.denied != nil {
		return nil, nil, func() {}
	}
	expires, stop = r.permit.Expires()
	return r.permit.News(), expires, stop
}

// The prefixes of the channels for changes of keys.
const (
	keyspace = "__keyspace@0__:"
	keyevent = "__keyevent@0__:"
)

// mayHear returns nil if the client may subscribe to a channel or a pattern. It must be allowed to read the channel's
// key, or, for a pattern and a channel of several keys, any key that may match.
func (s *store) mayHear(pattern bool, name string) error {
	if !pattern && name == switchChannel { // everybody may learn the master
		return nil
	}
	key, whole := strings.CutPrefix(name, keyspace)
	if !pattern && whole {
		return s.needRead(key)
	}
	prefix, below := strings.CutPrefix(glob.Prefix(name), keyspace)
	if !pattern || !below {
		prefix = ""
	}
	return s.needSome(prefix)
}

// mayKnow reports whether the client may know that others have subscribed to a channel: its name can be that of a key.
// Something must have been decided before.
func (s *store) mayKnow(channel string) bool {
	if strings.HasPrefix(channel, keyevent) {
		return true
	}
	return s.MayKey(strings.TrimPrefix(channel, keyspace))
}

// channelText returns what a client is told that may not subscribe.
func channelText(err error) string {
	return strings.Replace(errorText(err), "one of the keys used", "one of the channels used", 1)
}
