// Package watch reports changes to waiting queries and streams as they are applied, and remembers the newest changes.
// It knows keys, prefixes and revisions. Packages web and resp read the data and write to clients. DESIGN.md
// argues for the whole way of a query.
//
// # Two ways to follow changes
//
// A [Waiter] signals a change, but does not describe it. The caller first arms it, then reads, then waits: a change is
// either in the data read or signalled (see "Why nothing is missed"). It costs a channel and a few words, and no
// goroutine.
//
// A [Cursor] reads the changes themselves, in order, out of the history that all cursors share. It has no queue: a
// reader that falls behind the history gets ErrLost, and costs other readers nothing.
//
// # Why nothing is missed
//
// The log part calls Changed while it applies, under the state's lock held for writing. A reader takes the state under
// the same lock held for reading, after it has armed its waiter. Either the reader's turn comes after the apply, and it
// reads the change; or it comes before, and then the waiter was armed before too, and Changed finds it. A signal that
// nobody takes stays in the channel, so one that comes between reading and waiting ends the wait at once.
//
// # Concurrency
//
// One mutex, held for a few map look-ups per change and for at most scanEvents of the history per read of a cursor. All
// methods are safe for concurrent use, but Changed and Begin are the log part's, and a Cursor belongs to one goroutine.
package watch
