// Package blocks runs the command blocks of the module's documents, so that what they show stays true. It is used by
// its own tests only.
//
// A command block is a block between ``` whose language is none or sh. The blocks of a page are run in order, by one
// shell, in a fresh machine. The machine has a network with the documents' addresses and default ports, and its own
// home, /etc, /var/lib and copy of this module. The programs of this tree are in its PATH. Nothing of it is left
// afterwards.
//
//   - Lines that begin with "$ " are commands. The lines up to the next command are its output. A command that is shown
//     without output must end with exit code 0.
//   - In a block without such lines all lines are commands, and each must end with exit code 0.
//   - "…" in output stands for anything, and a line of it alone for any lines. What differs from run to run may differ,
//     by the list in compare.go. Where a command has an id that the page showed before, it is run with the one that was
//     printed there.
//
// Comments in the page's source, in the lines directly above the block, say what else there is to know. Readers of the
// page do not see them.
//
//	<!-- not run: REASON -->   the block is not run
//	<!-- run: COMMANDS -->     what the text tells in words or takes for granted, such as a cluster that runs. It must
//	                           end with exit code 0. It may stand anywhere; shell.sh has functions for it
//	<!-- terminals -->         each command gets a terminal of its own, in which it may go on running. It must print what
//	                           is shown, and must not fail. `terminals: REGEXP` is for those that match only
//	<!-- loose -->             numbers, and the order of the lines, may differ from what is shown
//	<!-- file: NAME -->        the block is the text of a file, which is made
//	<!-- prints: COMMANDS -->  the block is what these commands print
//
// A block that is neither run nor marked cannot be: an unknown comment, or a command that fails, fails the test.
package blocks
