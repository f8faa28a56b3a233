package resp

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// connModel is what a connection is supposed to be: a plain model of MULTI, EXEC, DISCARD, WATCH, UNWATCH, AUTH and RESET,
// and of the keys. It is told each command with its reply, and says what is wrong with the reply.
type connModel struct {
	keys    map[string]string
	changes map[string]int // how often each key was changed

	open, broken bool
	queued       [][]string
	watched      map[string]int // what changes were then
	unwatched    map[string]bool
	lost         bool

	who      string // the secret of the token, "" without a login
	gone     bool   // the token of who was deleted since
	appLives bool   // there is a token "app"

	refusing bool // a command may be refused without a reason of its own
	unsure   bool // what the keys hold is not known until the next comparison
	doubtful bool // nor whether a watched key has changed
}

func newConnModel() *connModel {
	m := &connModel{keys: map[string]string{}, changes: map[string]int{}, appLives: true}
	m.endTransaction()
	return m
}

func (m *connModel) endTransaction() {
	m.open, m.broken, m.queued = false, false, nil
	m.unwatch()
}

func (m *connModel) unwatch() {
	m.watched, m.unwatched, m.lost, m.doubtful = map[string]int{}, map[string]bool{}, false, false
}

// may reports whether the client may do what it likes with a key.
func (m *connModel) may(key string) bool {
	return !m.gone && (m.who == root || m.who == "app" && (strings.HasPrefix(key, "own/") || strings.HasPrefix(key, "q/")))
}

// step takes a command with its reply.
func (m *connModel) step(cmd []string, reply string) error {
	failed := strings.HasPrefix(reply, "-")
	if strings.HasPrefix(reply, "-UNKNOWN") {
		m.unsure = true
	}
	switch cmd[0] {
	case "MULTI":
		if m.open {
			return m.is(reply, "-ERR MULTI calls can not be nested")
		}
		m.open = true
		return m.is(reply, "OK")
	case "EXEC":
		return m.exec(reply)
	case "DISCARD":
		if !m.open {
			return m.is(reply, "-ERR DISCARD without MULTI")
		}
		m.endTransaction()
		return m.is(reply, "OK")
	case "RESET":
		m.endTransaction()
		m.who, m.gone = "", false
		return m.is(reply, "RESET")
	case "UNWATCH":
		if m.open {
			return m.queue(cmd, reply, false)
		}
		m.unwatch()
		return m.is(reply, "OK")
	case "WATCH":
		return m.watch(cmd[1:], reply)
	case "AUTH":
		return m.auth(cmd[1], reply)
	}
	wrong := m.isWrong(cmd)
	switch {
	case m.open:
		return m.queue(cmd, reply, wrong)
	case wrong && !failed:
		return fmt.Errorf("it is answered, and must be refused")
	case failed && (wrong || m.refusing):
		return nil
	case m.unsure:
		return m.isNot(reply, "QUEUED")
	}
	want, _ := m.eval(maps.Clone(m.keys), cmd)
	m.apply(cmd)
	return m.is(reply, want)
}

func (m *connModel) is(reply, want string) error {
	if reply != want && (want == "" || want[len(want)-1] != '*' || !strings.HasPrefix(reply, want[:len(want)-1])) {
		return fmt.Errorf("want %s", want)
	}
	return nil
}

func (m *connModel) isNot(reply, not string) error {
	if reply == not {
		return fmt.Errorf("it must not be that")
	}
	return nil
}

// isWrong reports whether a command must be refused, whatever else is the matter.
func (m *connModel) isWrong(cmd []string) bool {
	switch cmd[0] {
	case "PING":
		return m.gone
	case "GET", "DEL", "INCR":
		return len(cmd) != 2 || !m.may(cmd[1])
	case "SET":
		return len(cmd) != 3 || len(cmd[2]) > modelValueBytes || !m.may(cmd[1])
	}
	return true
}

// queue takes a command within a transaction.
func (m *connModel) queue(cmd []string, reply string, wrong bool) error {
	switch {
	case reply == "QUEUED" && wrong:
		return fmt.Errorf("it is queued, and must be refused")
	case reply == "QUEUED":
		m.queued = append(m.queued, cmd)
	case !strings.HasPrefix(reply, "-"):
		return fmt.Errorf("want QUEUED")
	case !wrong && !m.refusing:
		return fmt.Errorf("it is refused, and should not be")
	default:
		m.broken = true
	}
	return nil
}

func (m *connModel) watch(keys []string, reply string) error {
	if m.open {
		if m.refusing && strings.HasPrefix(reply, "-TRYAGAIN") {
			m.broken = true
			return nil
		}
		if m.gone {
			m.broken = true
			return m.is(reply, "-*") // NOAUTH, or of its size
		}
		if len(keys[0]) > modelValueBytes {
			m.broken = true
			return m.is(reply, "-ERR an argument*")
		}
		return m.is(reply, "-ERR WATCH inside MULTI is not allowed")
	}
	wrong := false
	for _, k := range keys {
		wrong = wrong || k == "" || len(k) > modelValueBytes || !m.may(k)
	}
	switch {
	case reply == "OK" && wrong:
		return fmt.Errorf("it is watched, and must be refused")
	case reply == "OK":
		for _, k := range keys {
			if _, already := m.watched[k]; !already {
				m.watched[k] = m.changes[k]
			}
			delete(m.unwatched, k)
		}
		return nil
	case !strings.HasPrefix(reply, "-") || !wrong && !m.refusing:
		return fmt.Errorf("want OK")
	}
	for _, k := range keys {
		if m.unwatched[k] = true; k == "" || len(k) > modelValueBytes {
			m.lost = true
		}
	}
	return nil
}

func (m *connModel) auth(secret, reply string) error {
	switch {
	case m.open && m.refusing && strings.HasPrefix(reply, "-TRYAGAIN"), m.open:
		m.broken = true
		return m.is(reply, "-*")
	case reply == "OK":
		if secret != root && (secret != "app" || !m.appLives) {
			return fmt.Errorf("there is no such token")
		}
		m.who, m.gone = secret, false
		return nil
	case m.refusing:
		return m.is(reply, "-*")
	case secret == root, secret == "app" && m.appLives:
		return fmt.Errorf("want OK")
	}
	return m.is(reply, "-WRONGPASS*")
}

// exec takes the reply to EXEC.
func (m *connModel) exec(reply string) error {
	if !m.open {
		return m.is(reply, "-ERR EXEC without MULTI")
	}
	broken, unchecked, queued, watched, doubtful := m.broken, m.lost || len(m.unwatched) > 0, m.queued, m.watched, m.doubtful
	m.endTransaction()
	switch {
	case broken:
		return m.is(reply, "-EXECABORT Transaction discarded because of previous errors.")
	case unchecked:
		return m.is(reply, "-EXECABORT Transaction discarded because a WATCH before it was refused")
	case m.gone:
		return m.is(reply, "-EXECABORT*")
	case strings.HasPrefix(reply, "-") && m.refusing, m.unsure:
		return m.isNot(reply, "QUEUED")
	}
	changed, denied := false, false // it may be that somebody else has watched
	for k, then := range watched {
		changed, denied = changed || m.changes[k] != then, denied || !m.may(k)
	}
	for _, cmd := range queued {
		denied = denied || cmd[0] != "PING" && cmd[0] != "UNWATCH" && !m.may(cmd[1])
	}
	switch {
	case denied:
		return m.is(reply, "-EXECABORT Transaction discarded because of: NO*")
	case doubtful && reply == "nil":
		return nil
	case changed && !doubtful:
		return m.is(reply, "nil")
	}
	after, full := maps.Clone(m.keys), false
	var replies []string
	for _, cmd := range queued {
		r, over := m.eval(after, cmd)
		replies, full = append(replies, r), full || over
	}
	if full {
		return m.is(reply, "-EXECABORT Transaction discarded because of: OOM*")
	}
	for _, cmd := range queued {
		m.apply(cmd)
	}
	return m.is(reply, "["+strings.Join(replies, " ")+"]")
}

// The bounds in the model's world.
const (
	modelValueBytes = 64
	modelQuotaBytes = 100 // of keys and values under q/
)

// eval carries out a command on keys and returns its reply; over is set if a quota refuses it.
func (m *connModel) eval(keys map[string]string, cmd []string) (reply string, over bool) {
	if cmd[0] == "PING" {
		return "PONG", false
	}
	if cmd[0] == "UNWATCH" {
		return "OK", false
	}
	key := cmd[1]
	value, there := keys[key]
	switch cmd[0] {
	case "GET":
		if !there {
			return "nil", false
		}
		return value, false
	case "DEL":
		if !there {
			return "0", false
		}
		delete(keys, key)
		return "1", false
	case "SET":
		if refusedByQuota(keys, key, cmd[2]) {
			return "-OOM*", true
		}
		keys[key] = cmd[2]
		return "OK", false
	}
	n, err := 0, error(nil)
	if there {
		n, err = strconv.Atoi(value)
	}
	if err != nil || there && strconv.Itoa(n) != value {
		return "-" + errNotInteger, false
	}
	sum := strconv.Itoa(n + 1)
	if refusedByQuota(keys, key, sum) {
		return "-OOM*", true
	}
	keys[key] = sum
	return sum, false
}

func refusedByQuota(keys map[string]string, key, value string) bool {
	if !strings.HasPrefix(key, "q/") {
		return false
	}
	used := 0
	for k, v := range keys {
		if strings.HasPrefix(k, "q/") {
			used += len(k) + len(v)
		}
	}
	more := len(key) + len(value)
	if v, there := keys[key]; there {
		more -= len(key) + len(v)
	}
	return more > 0 && used+more > modelQuotaBytes
}

// apply carries out a command on the model's keys.
func (m *connModel) apply(cmd []string) {
	if cmd[0] == "PING" || cmd[0] == "UNWATCH" {
		return
	}
	_, there := m.keys[cmd[1]]
	reply, _ := m.eval(m.keys, cmd)
	if cmd[0] == "SET" && reply == "OK" || cmd[0] == "INCR" && reply[0] != '-' || cmd[0] == "DEL" && there {
		m.changes[cmd[1]]++
	}
}
