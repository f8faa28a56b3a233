package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"tenure/client"
	"tenure/internal/shown"
)

// maxOvertaken bounds how often a change of a policy or token is tried while others are faster.
const maxOvertaken = 5

// aclChange changes or deletes a policy or token of type T as it was read, so that it overwrites nothing that somebody
// else has written since.
type aclChange[T any] struct {
	first T                    // as it was read
	again func() (T, error)    // reads it again
	shown func(now T) aclShown // describes it
	cas   uint64               // the ModifyIndex of --cas, which it must have; 0: that which was read
	// clash returns which field that the change replaces is not as it was at first. "": none.
	clash func(first, now T) string
	write func(now T, o client.WriteOptions) error
}

// aclShown is a policy or token in messages.
type aclShown struct {
	what  string // "policy" or "token"
	name  string // by which kvctl acl finds it
	index uint64 // its ModifyIndex
}

// overtaken returns the error of a change that was not made because somebody else has changed the same.
func (s aclShown) overtaken(how string) error {
	return fmt.Errorf("%w: %s, and nothing was changed here: see kvctl acl %s read %s, and give the command again if it "+
		"is still right", client.ErrCondition, how, s.what, shown.Word(s.name))
}

// run makes the change. If somebody else was faster, it is made in what is there then, unless both change the same
// field: which of them is right only people know.
func (x *aclChange[T]) run() error {
	now := x.first
	for tries := 1; ; tries++ {
		s := x.shown(now)
		err := x.write(now, client.WriteOptions{IfIndex: cmp.Or(x.cas, s.index)})
		switch {
		case !errors.Is(err, client.ErrCondition):
			return err
		case x.cas != 0:
			return s.overtaken(fmt.Sprintf("it is not at index %d", x.cas))
		case tries == maxOvertaken:
			return s.overtaken("others keep changing it")
		}
		if now, err = x.again(); err != nil {
			return err
		}
		if field := x.clash(x.first, now); field != "" {
			return x.shown(now).overtaken("somebody else has changed its " + field + " meanwhile")
		}
	}
}

// differ returns the name of the first of the fields that are to be replaced and have changed.
func differ(fields ...changedField) string {
	for _, f := range fields {
		if f.replaced && f.changed {
			return f.name
		}
	}
	return ""
}

// changedField is a field of a policy or token: whether the command line replaces it, and whether somebody else has.
type changedField struct {
	name              string
	replaced, changed bool
}

// addCAS gives cmd the flag that names the index.
func addCAS(cmd *cobra.Command, index *uint64, what string) {
	cmd.Flags().Var((*decimal)(index), "cas", what+" only if its modify index, as --json shows it, is this")
}

// checkCAS refuses an index that nothing has.
func checkCAS(cmd *cobra.Command, index uint64) error {
	if cmd.Flags().Changed("cas") && index == 0 {
		return usage("--cas 0: nothing has that index; give the ModifyIndex that --json shows")
	}
	return nil
}

// policyShown describes a policy.
func policyShown(p client.Policy) aclShown { return aclShown{"policy", p.Name, p.ModifyIndex} }

// tokenShown describes a token.
func tokenShown(t client.Token) aclShown { return aclShown{"token", t.AccessorID, t.ModifyIndex} }
