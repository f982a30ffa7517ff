// ControlTool
