package child

import "syscall"

// endWithParent has the kernel kill the command when kvctl is killed: nobody would renew its session any more.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
