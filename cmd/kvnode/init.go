package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// initCommand is the program that init runs as its child, before the arguments. Tests run themselves.
var initCommand = []string{"/proc/self/exe"}

// ended is the exit code of a process that a command ran; the process has printed its own error.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// newInit is for containers. It has no flags of its own: what follows is the command line of the node.
func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [ARGUMENTS OF KVNODE]",
		Short: "Run kvnode as the child of process 1 of a container",
		Long: "Run kvnode with the arguments that follow, as a child process. When process 1 of a container ends, the\n" +
			"kernel kills all others, and with them the guardian of the node (see --guardian). init is that process 1: it\n" +
			"passes signals on to the node, reaps processes that have lost their parent, and, once the node has ended,\n" +
			"waits up to " + lingers.String() + " for the guardian to say so. Its exit code is that of the node, or 128 and\n" +
			"the number of the signal that has killed it.",
		Example:            "  kvnode init --config /etc/kvnode.toml",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			code, err := runInit(append(initCommand, args...), os.Environ())
			if err != nil {
				return err
			}
			if code == 0 {
				return nil
			}
			return ended(code)
		},
	}
}
