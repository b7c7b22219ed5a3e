"""What people see and programs read: stdout is data, stderr is for people."""
